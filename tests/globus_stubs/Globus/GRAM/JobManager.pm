# What samgrid.pm needs of the real one: a base class, and the description of a job.
package Globus::GRAM::JobManager;
sub new { my ($class, $job) = @_; return bless {JobDescription => $job}, $class }
sub respond { my ($self, $said) = @_; print ref $said ? map { "GRAM_SCRIPT_$_:$said->{$_}\n" } keys %$said : $said }
sub stage_in { return {} }
sub stage_out { my ($self) = @_; $self->respond({STAGED_OUT => 'a b'}); return $ENV{STAGE_OUT_FAILS} ? Globus::GRAM::Error::STAGE_OUT_FAILED() : {} }

package Globus::GRAM::JobDescription;
our $AUTOLOAD;
sub AUTOLOAD {
    my ($self) = @_;
    my ($name) = $AUTOLOAD =~ /(\w+)$/;
    my $values = $self->{$name};
    return $values && @$values == 1 && !ref $values->[0] ? $values->[0] : undef;
}
sub DESTROY { }
1;
