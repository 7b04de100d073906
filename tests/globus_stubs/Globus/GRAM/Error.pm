# What samgrid.pm needs of the real one.
package Globus::GRAM::Error;
sub new { my ($class, $value) = @_; return bless {value => $value}, $class }
sub value { return $_[0]{value} }
sub STAGE_IN_FAILED { return Globus::GRAM::Error->new(135) }
sub STAGE_OUT_FAILED { return Globus::GRAM::Error->new(155) }
1;
